"""usage: put.py MODEL OUT HEADS
A copy of the directory MODEL as OUT, with heads' tensors from the files HEADS/*.safetensors. Only those that MODEL has as float32
are replaced, in their places, so that all else stays the same, to the bit."""
import glob
import os
import shutil
import sys

import numpy as np

from net import read_header, read_tensors

if len(sys.argv) != 4:
    sys.exit(__doc__)
model, out, heads = sys.argv[1:]
path = os.path.join(model, 'model.safetensors')
header, begin = read_header(path)
with open(path, 'rb') as f:
    data = bytearray(f.read())
for file in sorted(glob.glob(os.path.join(heads, '*.safetensors'))):
    for name, value in read_tensors(file).items():
        value = value.astype(np.float32)
        place = header.get(name, {'dtype': ''})
        if place['dtype'] != 'F32' or place['shape'] != list(value.shape) or not np.isfinite(value).all():
            sys.exit(f'{file}: {name} does not fit {path}')
        first, last = place['data_offsets']
        data[begin + first:begin + last] = value.tobytes()
others = shutil.ignore_patterns('model.safetensors', 'checkpoints', 'loss.*', '.lock')
shutil.copytree(model, out, ignore=others, dirs_exist_ok=True)
to = os.path.join(out, 'model.safetensors')
with open(to + '.part', 'wb') as f:
    f.write(data)
os.replace(to + '.part', to)
