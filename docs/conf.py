"""The settings of the documentation's site. `make docs` makes it; tools/docsite/ prepares the pages."""

from importlib.metadata import version as version_of

project = "actorflow"
copyright = "the actorflow authors"
version = release = version_of("actorflow")
extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["files"]
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
nitpick_ignore_regex = [("py:.*", ".*")]  # the staging links only names that there are
add_module_names = False
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
highlight_language = "none"
pygments_style = "friendly"
pygments_dark_style = "monokai"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
html_theme = "furo"
html_title = f"actorflow {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e4f", "color-brand-content": "#0b6e4f"},
    "dark_css_variables": {"color-brand-primary": "#5fd3a8", "color-brand-content": "#5fd3a8"},
}
