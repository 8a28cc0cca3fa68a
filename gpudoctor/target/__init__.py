"""Programs that run under the target interpreter, never in the process of gpudoctor. They import nothing from gpudoctor."""
