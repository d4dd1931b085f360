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
    let error: FerryError
    /// The title of the page that the command would have made.
    let title: String
    let store: String

    package init(_ error: FerryError, title: String, store: String) {
        (self.error, self.title, self.store) = (error, title, store)
    }

    package var json: JSON { ["store": store, "error": error.json] }

    package var report: Report {
        Report(
            title, .bad, error.message,
            [.remedy(error.wordedRemedy), .facts(margin: 8, [("Store", store), ("Reason", error.code.name)])])
    }
}
