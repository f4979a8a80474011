"""HTTP/1.1 on asyncio: connections, requests as they arrive, answers as they leave, WebSockets.

Knows nothing of Kubernetes but what a fault looks like. Imported by the application and the server process.
"""
