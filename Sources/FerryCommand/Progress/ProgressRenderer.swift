internal import FerryBase

/// Shows how far a run has come, on standard error.
protocol ProgressRenderer: Sendable {
    /// A phase begins; nothing of it has been done yet. The step counts from 1.
    func begin(_ phase: Phase, step: Int?)
    /// Takes one update, on the thread that does the work.
    func show(_ update: ProgressUpdate)
    /// Leaves the terminal ready for ordinary text.
    func finish()
}

/// The forms of `--progress`.
enum ProgressForm: String, CaseIterable, Sendable {
    case auto, bar, plain, json, none

    func renderer(on console: Console) -> (any ProgressRenderer)? {
        switch self {
        case .auto: (console.isTerminal ? ProgressForm.bar : .plain).renderer(on: console)
        case .bar: BarProgress(console: console)
        case .plain: PlainProgress(console: console)
        case .json: JSONProgress(console: console)
        case .none: nil
        }
    }

    static let option = Syntax.Option.value(
        "--progress", "FORM",
        "auto (default: a bar on a terminal, else plain), bar, plain (a line every 10 s), json (JSON Lines), none. "
            + "On standard error.")
}
