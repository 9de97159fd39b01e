"""Samples that lie in several files or in archives: folders of images, and tar files as WebDataset writes them.

images.py     `ImageFolder`: a folder of images for each class
members.py    `members`: the files in a tar file, which is checked up to its end
tars.py       `TarDataset`: members of tar files with one key, as a sample
unpacking.py  `unpacked`: the bytes of a file that may be packed with gzip, bzip2 or xz
"""
