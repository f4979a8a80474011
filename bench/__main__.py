"""Everything that is measured: `make bench`."""

from __future__ import annotations

import asyncio

from bench import backend, jobs, logs, sandbox, server, store


def main() -> None:
    print("# the store, against raw SQLite\n")
    asyncio.run(store.main(3.0))
    print("\n# the API server, against a bare one\n")
    server.main()
    print("\n# a sandbox, against a bare process\n")
    asyncio.run(sandbox.main())
    print("\n# a log, against cat\n")
    logs.main()
    print("\n# whole jobs, against bare torchruns\n")
    jobs.main()
    print("\n# the REST backend, against the raw API\n")
    backend.main()


if __name__ == "__main__":
    main()
