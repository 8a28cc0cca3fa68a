"""What is watched while a device is measured: clocks, heat, power, memory, and who else uses the device."""
