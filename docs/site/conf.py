"""Sphinx: the pages that build_site.py writes, searchable without a server, nothing loaded from elsewhere."""

project = "gpudoctor"
author = "the gpudoctor contributors"
html_title = "gpudoctor"
language = "en"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
smartquotes = False  # commands and messages are copied as they stand

# Raw HTML is text here: what a file of the catalogue holds can place no tag in a page.
myst_disable_syntax = ["html_block", "html_inline"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["pages.js"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False
html_permalinks_icon = "#"
html_theme_options = {"sidebar_hide_name": False}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
