"""What the kernel tells about processes and connections during a measurement: CPU use, waiting times and bytes."""
