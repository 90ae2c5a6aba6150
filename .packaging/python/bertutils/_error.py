class Error(Exception):
    """What a program or the library refused.

    str() is its message, one line. status is the program's exit status, for example 64 for a wrong option, 65 for a
    wrong content, 66 for a missing file; it is negative if a signal ended the program.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self):  # so that a process pool can pass it on
        return Error, (str(self), self.status)
