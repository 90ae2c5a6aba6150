"""The word pieces of the fixtures: small enough to read."""

import string

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_PUNCTUATION = list(".,!?;:'\"-()#&%")
_LETTERS = list(string.ascii_lowercase) + ["##" + c for c in string.ascii_lowercase]
_DIGITS = list(string.digits)
_WORDS = """
the a of is in on was not and to it but so all ##s ##ing ##ed ##er ##est ##ly
paris france london berlin germany england tokyo japan city capital river
cat dog mat book movie music play sat ran good bad great best worst who where what
""".split()
_CJK = list("巴黎是法国的首都东京日本我爱你")

PIECES = list(dict.fromkeys(_SPECIAL + _PUNCTUATION + _LETTERS + _WORDS + _CJK + _DIGITS))
