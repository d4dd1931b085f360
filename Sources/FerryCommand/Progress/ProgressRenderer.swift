internal import FerryBase

/// Shows how far a run has come, on standard error.
protocol ProgressRenderer: Sendable {
    /// What is to be done is known.
    func plan(_ outline: RunOutline)
    /// A phase begins; nothing of it has been done yet. The step counts from 1.
    func begin(_ phase: Phase, step: Int?)
    /// Takes one update, on the thread that does the work.
    func show(_ update: ProgressUpdate)
    /// Tells a warning, apart from what is drawn.
    func warn(_ warning: FerryWarning)
    /// Leaves the terminal ready for ordinary text.
    func finish()
}

/// What a run is going to do, as far as its progress tells it.
struct RunOutline: Sendable {
    var steps: Int
    /// In bytes.
    var memoryLimit: Int
    /// Whether it all happens on a copy, and nothing is put in the store's place.
    var isRehearsal = false
}

extension ProgressRenderer {
    func plan(_ outline: RunOutline) {}
    func finish() {}
}

/// The forms of `--progress`.
enum ProgressForm: String, CaseIterable, Sendable {
    case auto, bar, plain, json, none

    func renderer(on console: Console) -> any ProgressRenderer {
        switch self {
        case .auto where console.isQuiet: NoProgress(console: console)
        case .auto: (console.isTerminal ? ProgressForm.bar : .plain).renderer(on: console)
        case .bar: BarProgress(console: console)
        case .plain: PlainProgress(console: console)
        case .json: JSONProgress(console: console)
        case .none: NoProgress(console: console)
        }
    }

    static let option = Syntax.Option.choice(
        "--progress", "FORM", of: ProgressForm.allCases,
        "auto (default: a bar on a terminal, else plain), bar, plain (a line every 10 s), json (JSON Lines), none. "
            + "On standard error.")
}

/// Warnings alone.
private struct NoProgress: ProgressRenderer {
    let console: Console

    func begin(_ phase: Phase, step: Int?) {}
    func show(_ update: ProgressUpdate) {}
    func warn(_ warning: FerryWarning) { console.warn(warning.message) }
}
