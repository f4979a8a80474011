"""The batch group: Jobs and CronJobs."""
