"""Files that the workers of a cluster read together, each file once an epoch.

file_pool.py     `FilePool`: who reads which file, and which are left; the resource of a task
shared_files.py  `SharedFiles`: what the program of each worker uses
"""
