"""How Sphinx builds the site: `make docs`. Nothing is fetched while it builds or is read."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from warpladder import __version__

project = "warpladder"
author = "The warpladder developers"
copyright = "The warpladder developers, BSD-3-Clause"  # noqa: A001  # Sphinx wants this name
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "warpladder_site",
]
exclude_patterns = ["_build", "_ext", "_templates"]
suppress_warnings = [
    # A text in a docstring's References need not be cited above.
    "ref.footnote",
]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
# A cell that warns is a fault of the notebook.
nb_output_stderr = "remove-warn"

add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = False
napoleon_use_rtype = False
# Their types are written as expressions, which are no text.
napoleon_attr_annotations = False
default_role = "code"
python_use_unqualified_type_names = True

# Prompts and outputs are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

html_theme = "pydata_sphinx_theme"
html_title = "warpladder"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "warpladder"},
    "navbar_align": "left",
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "show_toc_level": 2,
    "back_to_top_button": False,
}
html_context = {"default_mode": "auto"}
# Pages that have none below them need no list of them.
_ALONE = (
    *("index", "install", "simulator", "counters", "browser"),
    *("benchmarks", "choices", "sources"),
)
html_sidebars: dict[str, list[str]] = {name: [] for name in (*_ALONE, "contributing", "changelog")}
