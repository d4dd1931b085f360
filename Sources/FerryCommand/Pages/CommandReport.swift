package import Ferry
internal import FerryBase

/// What a command has found: the object that `--json` prints, and a report in parts.
package protocol CommandReport {
    var json: JSON { get }
    /// Members that only a report file has.
    var extras: JSON { get }
    var report: Report { get }
}

extension CommandReport {
    package var extras: JSON { [:] }

    package func text(width: Int) -> [String] { report.text(width: width) }
}

/// The report of a command that ended with an error before it found anything.
///
/// Without it, the report of an earlier call would tell of a success.
package struct FailureReport: CommandReport {
    /// The title of the page that the command would have made.
    let title: String
    let store: String
    let code: String
    let message: String
    let remedy: String

    package init(_ error: FerryError, title: String, store: String) {
        self.init(
            title: title, store: store, code: error.code.name, message: error.message, remedy: error.wordedRemedy)
    }

    init(title: String, store: String, code: String, message: String, remedy: String) {
        (self.title, self.store, self.code) = (title, store, code)
        (self.message, self.remedy) = (message, remedy)
    }

    package var json: JSON {
        ["store": store, "error": ["code": code, "message": message, "remedy": remedy] as JSON]
    }

    package var report: Report {
        Report(
            title, .bad, message,
            [.remedy(remedy), .facts(margin: 8, [("Store", store), ("Reason", code)])])
    }
}
