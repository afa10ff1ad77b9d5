import { useState } from "preact/hooks";
import { ask } from "./api.ts";
import { messageOf } from "./parts.tsx";

/** Takes files that are dropped or chosen, and sends them one after another. */
export function Upload({
  path,
  disabled,
  onDone,
}: {
  readonly path: string;
  readonly disabled: boolean;
  readonly onDone: () => void;
}) {
  const [progress, setProgress] = useState<readonly string[]>([]);
  const [isOver, setOver] = useState(false);
  const send = async (files: readonly File[]): Promise<void> => {
    for (const [at, file] of files.entries()) {
      setProgress((before) => [
        ...before.slice(-4),
        `${file.name}: uploading (${at + 1} of ${files.length}) …`,
      ]);
      const form = new FormData();
      form.set("file", file);
      const outcome = await ask(`${path}/items`, { method: "POST", body: form }).then(
        () => "uploaded",
        messageOf,
      );
      setProgress((before) => [...before.slice(0, -1), `${file.name}: ${outcome}`]);
      onDone();
    }
  };
  return (
    <div
      class={`drop ${isOver ? "over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (!disabled) void send([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <label>
        Drop files here, or choose some
        <input
          type="file"
          multiple
          disabled={disabled}
          onChange={(event) => void send([...(event.currentTarget.files ?? [])])}
        />
      </label>
      <div class="small" role="status">
        {progress.map((line) => (
          <p key={line}>{line}</p>
        ))}
      </div>
    </div>
  );
}
