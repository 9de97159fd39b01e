"""Puts the start-up line beside the package: with it KERAS_BACKEND=actorflow works without an import of keras_actorflow."""

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithStartUp(build_py):
    """Builds the package, and copies the start-up line to the top of what is installed."""

    def run(self) -> None:
        super().run()
        self.copy_file("keras_actorflow.pth", f"{self.build_lib}/keras_actorflow.pth")


setup(cmdclass={"build_py": BuildWithStartUp})
