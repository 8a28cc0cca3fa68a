"""Whether a device computes right, how fast, and which known fix helps: measurements, monitors, and references to compare with.

The workloads themselves (gpudoctor/target/workloads) run under the target interpreter; this package is gpudoctor's side.
"""
