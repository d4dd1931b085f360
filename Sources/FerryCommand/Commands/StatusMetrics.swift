internal import Ferry
internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The states of stores as metrics, in the text format of Prometheus.
enum StatusMetrics {
    static func text(_ entries: [(store: String, status: RunStatus)]) -> String {
        let states: [RunStatus.State] = [.none, .running, .interrupted, .finished]
        var lines = [
            "# HELP ferry_migration_state The state of the store's migration: 1 for the current state.",
            "# TYPE ferry_migration_state gauge",
        ]
        for (store, status) in entries {
            for state in states {
                let label = "{store=\"\(escaped(store))\",state=\"\(state.rawValue)\"}"
                lines.append("ferry_migration_state\(label) \(status.state == state ? 1 : 0)")
            }
        }
        let metrics: [(name: String, help: String, value: (RunStatus) -> Double?)] = [
            ("ferry_migration_progress_ratio", "The completed share of the work, from 0 to 1.", { $0.fraction }),
            ("ferry_migration_rows_per_second", "Rows per second in the current phase.", { $0.rowsPerSecond }),
            ("ferry_migration_eta_seconds", "The estimated time left.", { $0.timeLeft?.inSeconds }),
            (
                "ferry_migration_paused", "Whether an operator has paused the migration.",
                { $0.isPaused.map { $0 ? 1 : 0 } }
            ),
            (
                "ferry_migration_finished_timestamp_seconds", "The end of the last run.",
                { $0.finished?.timeIntervalSince1970 }
            ),
        ]
        for metric in metrics {
            let found = entries.compactMap { entry in metric.value(entry.status).map { (entry.store, $0) } }
            guard !found.isEmpty else { continue }
            lines += ["# HELP \(metric.name) \(metric.help)", "# TYPE \(metric.name) gauge"]
            for (store, value) in found {
                lines.append("\(metric.name){store=\"\(escaped(store))\"} \(JSON.number(value).line)")
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func escaped(_ label: String) -> String {
        label.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
