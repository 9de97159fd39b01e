"""Event loops: the running loop, a loop that polls, a loop that its callers drive, tasks that belong to an object.

background_tasks.py   `BackgroundTasks`: tasks that belong to an object instead of a block, because it may be opened in one task
                      and closed in another
delay.py              `LoopDelay`: how late an event loop comes to what is due
driver.py             an event loop that its callers drive: how code without `await` runs coroutines at no cost of a second
                      thread
facade.py             `BlockingFacade`, `blocking`: classes without `await` over asynchronous classes, a line for each method
polling.py            an event loop that looks again for a moment before it sleeps, where answers lately came within that moment
running.py            `running_loop`: the event loop of asyncio that runs here, or an error that says what to do without a loop
step_result.py        `StepResult`: the result of a step that a callback began, which is here already or is awaited
"""
