"""The scheduling.k8s.io group: PriorityClasses; and the marks by which we know gangs."""
