"""Files as records, read piece by piece.

opening.py   files, and how a process may touch them: below the roots that it was given, and on threads
reader.py    `ReaderState`: takes the names of files one after another, and gives their records
"""
