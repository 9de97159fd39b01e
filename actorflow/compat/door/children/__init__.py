"""A folder for the path of the processes that a program starts, so that they run over actorflow as the program does.

tensorflow/  `import tensorflow` in such a process: it opens the door
"""
