/** Parts to close, the newest first. */
export class Opened {
  readonly #parts: { close(): Promise<void> }[] = [];

  /** Null is what the configuration does not want. */
  add<Part extends { close(): Promise<void> } | null>(part: Part): Part {
    if (part !== null) this.#parts.push(part);
    return part;
  }

  async close(): Promise<void> {
    for (let part = this.#parts.pop(); part; part = this.#parts.pop()) await part.close();
  }
}
