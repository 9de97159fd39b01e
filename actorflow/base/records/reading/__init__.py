"""Files as records, read piece by piece.

fair_lock.py   `FairLock`: turns, for which readers wait on event loops of whatever threads
opening.py     files, and how a process may touch them: below the roots that it was given, and on threads
reader.py      `ReaderState`: takes the names of files in turn, and gives their records
"""
