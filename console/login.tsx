import { useState } from "preact/hooks";
import { logIn } from "./api.ts";
import { Field } from "./form.tsx";

/** Asks for a token; a link of the start has already failed when `problem` says why. */
export function LoginPage({
  problem,
  onDone,
}: {
  readonly problem: string | null;
  readonly onDone: () => void;
}) {
  const [token, setToken] = useState("");
  const [readOnly, setReadOnly] = useState(false);
  const [error, setError] = useState(problem);
  const submit = (event: Event): void => {
    event.preventDefault();
    setError(null);
    logIn({ token: token.trim() }, readOnly).then(onDone, (failure: unknown) => {
      setError(failure instanceof Error ? failure.message : String(failure));
    });
  };
  return (
    <main class="login">
      <form class="card form" onSubmit={submit}>
        <h1>
          <span class="brand">causey</span> console
        </h1>
        <Field
          label="API token"
          value={token}
          input={{
            type: "password",
            autocomplete: "current-password",
            "aria-describedby": "token-hint",
          }}
          onInput={setToken}
        />
        <p id="token-hint" class="muted small">
          The first start prints it and stores it in the file token of the data folder
          (.causey/token). “causey console” prints a link that logs in once.
        </p>
        <label class="choice">
          <input
            type="checkbox"
            checked={readOnly}
            onChange={(event) => setReadOnly(event.currentTarget.checked)}
          />
          Read only
        </label>
        <button type="submit" class="primary">
          Log in
        </button>
        {error !== null && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
      </form>
    </main>
  );
}
