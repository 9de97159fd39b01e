"""Samples that lie in several files or in archives: folders of images, and tar files as WebDataset writes them.

images.py  `ImageFolder`: a folder of images for each class
tars.py    `TarDataset`: members of tar files with one key, as a sample
"""
