"""Ways to a model from outside: the command, the page of a training, web services.

cli/          the command `actorflow`
dashboard/    the page of a training (`af.dashboard`)
ext/          sessions in the frameworks of others (`af.ext`)
http/         HTTP/1.1 for the pages and models, and their form as applications of ASGI
pyinstaller/  a hook for PyInstaller
generation/   models that generate tokens, and their streams over HTTP (`af.generation`)
serving/      models over HTTP (`af.serving`)
"""
