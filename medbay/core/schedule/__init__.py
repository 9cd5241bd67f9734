"""When recurring work is due: cron, intervals and loops."""
