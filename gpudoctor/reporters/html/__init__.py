"""Parts of the page that html_report puts together."""
