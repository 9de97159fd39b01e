"""The form of a checkpoint: shards, manifest, checksums.

checksum.py   checksums of tensors, CRC-32: each burst of 32 bits is seen, and other damage but for one time in 2**32
layout.py     the layout of a shard: that of the `safetensors` format, as pure functions between tensors and bytes
manifest.py   the manifest of a checkpoint: which tensors it has, where their bytes are, and their checksums
"""
