"""Makes the site of the documentation from the pages of docs/, without a network. `make docs` runs all of it.

__main__.py    stages the pages, runs Sphinx on them with warnings as errors, and looks for links that lead nowhere
staging.py     the pages as Sphinx reads them: pictures drawn, links to files of the project made downloads, names linked
flowchart.py   Mermaid's flowcharts as SVG
sequence.py    Mermaid's sequence diagrams as SVG
reference.py   the pages of public names, from the docstrings
docstrings.py  a docstring as Markdown
manual.py      the page of the command, from its own help
figures.py     the page of measurements, from benchmarks/results
links.py       the links of the finished site that lead nowhere
blocks.py      the examples of a page, and how each is run
doctests.py    runs the examples in docstrings
running.py     runs the examples of one page

Pages that are made of the code are not kept in the repository: the site always says what the code says.
"""
