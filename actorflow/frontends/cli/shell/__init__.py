"""The command as shells and `man` want it, from its own help, and what it says of errors.

completion.py   `actorflow completion`: what completes command lines in a shell, and the manual pages
explain.py      `actorflow explain`: cause and cure of an error, from `errors.md`
manual.py       what the commands say of themselves as data, and as pages of `man`
"""
