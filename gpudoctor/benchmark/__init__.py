"""Does it compute right, how fast, and which known fix helps: what is measured, how it is watched, and what it is held against.

The workloads themselves (gpudoctor/target/workloads) run under the target interpreter; here is the doctor's side.
"""
