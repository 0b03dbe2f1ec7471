interface Turn {
  /** It was asked for again while it ran. */
  wanted: boolean;
}

const turns = new Map<string, Turn>();

/**
 * Runs what has this name, once at a time. Asked for meanwhile, it runs once more
 * after that, however often: twenty pushes a second make few requests, and the
 * last of them is never missed.
 */
export async function again(name: string, run: () => Promise<unknown>): Promise<void> {
  const running = turns.get(name);
  if (running) {
    running.wanted = true;
    return;
  }
  const turn: Turn = { wanted: true };
  turns.set(name, turn);
  try {
    while (turn.wanted) {
      turn.wanted = false;
      await run();
    }
  } finally {
    turns.delete(name);
  }
}
