import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

interface DropTargetProps {
  onFiles: (files: readonly File[]) => void;
  /** Beside the class of its own. */
  look?: string;
  children: ComponentChildren;
}

/** Takes files that are dropped anywhere on it, and shows that it does while they are held over it. */
export function DropTarget({ onFiles, look = '', children }: DropTargetProps) {
  const [isOver, setOver] = useState(false);
  // Words that are dragged belong to the field that they are dropped on.
  const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
  return (
    <div
      class={['drop', look, isOver ? 'over' : ''].filter(Boolean).join(' ')}
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(false);
        onFiles([...event.dataTransfer!.files]);
      }}
    >
      {children}
    </div>
  );
}
