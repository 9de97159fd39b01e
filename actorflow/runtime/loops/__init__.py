"""Event loops: which one runs, one that polls, one that its callers drive, tasks that belong to an object.

driver.py       an event loop that its callers drive: how code without `await` runs coroutines at no cost of a second thread
event_loop.py   `running_loop`: the event loop of asyncio that runs here, or an error that says what to do without one
polling.py      an event loop that looks again for a moment before it sleeps, where answers lately came within that moment
root.py         `RootTask`: tasks that belong to an object instead of a block, because it may be opened in one task and closed
                in another
"""
