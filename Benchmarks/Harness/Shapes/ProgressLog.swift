internal import Foundation

/// The lines of `--progress json`, each after the seconds since the start of the program.
package struct ProgressLog: Sendable {
    /// The time of each estimate, and the seconds that it said are left.
    package private(set) var estimates: [(seconds: Double, left: Double)] = []
    /// The other lines: warnings and errors.
    package private(set) var messages: [String] = []

    package init(_ text: String) {
        struct Update: Decodable {
            var secondsLeft: Double?
        }
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let seconds = Double(parts[0]) else { continue }
            guard parts[1].hasPrefix("{"),
                let update = try? JSONDecoder().decode(Update.self, from: Data(parts[1].utf8))
            else {
                messages.append(String(parts[1]))
                continue
            }
            if let left = update.secondsLeft { estimates.append((seconds, left)) }
        }
    }

    /// Returns the whole time that the estimates after the first tenth amount to, where they were most wrong, divided by
    /// the actual time; nil without such an estimate.
    package func timeAfterTenth(of total: Double) -> Double? {
        let said = estimates.filter { $0.seconds >= total / 10 }.map { ($0.seconds + $0.left) / total }
        return said.max { max($0, 1 / $0) < max($1, 1 / $1) }
    }
}
