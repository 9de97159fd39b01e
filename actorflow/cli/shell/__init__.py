"""The command as shells and `man` want it, from its own help.

completion.py   `actorflow completion`: what completes command lines in a shell, and the manual pages
manual.py       what the commands say of themselves as data, and as pages of `man`
"""
