"""The plan of `setup` on a screen, as JSON, and as a script, a Dockerfile or a playbook; and the progress and history of runs."""
