interface TabListProps<Name extends string> {
  readonly label: string;
  /** The id of the panel. @default "panel" */
  readonly id?: string;
  readonly names: readonly Name[];
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
}

/** Tabs of one panel; the arrow keys go from one to the next. */
export function TabList<Name extends string>({
  label,
  id = "panel",
  names,
  chosen,
  onChoose,
}: TabListProps<Name>) {
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = names[(names.indexOf(chosen) + step + names.length) % names.length] ?? chosen;
    onChoose(next);
    document.getElementById(tabId(id, next))?.focus();
  };
  return (
    <div role="tablist" aria-label={label} class="tabs" onKeyDown={onKey}>
      {names.map((one) => (
        <button
          key={one}
          id={tabId(id, one)}
          type="button"
          role="tab"
          aria-selected={chosen === one}
          aria-controls={id}
          tabIndex={chosen === one ? 0 : -1}
          onClick={() => onChoose(one)}
        >
          {one}
        </button>
      ))}
    </div>
  );
}

/** Those of the page's own panel have short ids. */
function tabId(panel: string, name: string): string {
  return `${panel === "panel" ? "tab" : `${panel}-tab`}-${name.replaceAll(" ", "-")}`;
}
