/** What must be closed, the newest first. */
export class Opened {
  readonly #parts: { close(): Promise<void> }[] = [];

  add<Part extends { close(): Promise<void> }>(part: Part): Part {
    this.#parts.push(part);
    return part;
  }

  async close(): Promise<void> {
    for (let part = this.#parts.pop(); part; part = this.#parts.pop()) await part.close();
  }
}
