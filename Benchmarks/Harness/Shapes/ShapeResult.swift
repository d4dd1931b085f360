/// What one migration of a store of some shape cost, and what Ferry had said about it beforehand.
package struct ShapeResult: Sendable, Codable, Equatable {
    /// Figures that Ferry estimates; nil: not said, or not measured.
    package struct Estimates: Sendable, Codable, Equatable {
        package var seconds: Double?
        package var diskBytes: Double?

        package init(seconds: Double? = nil, diskBytes: Double? = nil) {
            self.seconds = seconds
            self.diskBytes = diskBytes
        }
    }

    package var name: String
    /// How the steps ran: copied, in place, or both.
    package var mode: String
    package var objects: Int64
    package var storeBytes: Int64
    package var memoryLimit: Int64
    /// Why the migration has no figures; nil: it has them.
    package var failure: String?
    /// The message of the refusal, for a shape that is to be refused.
    package var refusal: String?
    package var seconds: Double = 0
    /// The highest peak of all rounds, for a limit is a limit.
    package var peakBytes: Int64 = 0
    /// The median over the rounds: how threads interleave moves a single peak by megabytes.
    package var typicalPeakBytes: Int64 = 0
    /// ``typicalPeakBytes`` with a tenth of the rows.
    package var typicalPeakBytesOfTenth: Int64?
    package var verificationSeconds: Double = 0
    /// All phases but the verification.
    package var otherSeconds: Double = 0
    package var readBytes: Int64?
    package var writtenBytes: Int64?
    package var said = Estimates()
    package var came = Estimates()
    /// The whole time that an estimate after the first tenth amounted to, where it was most wrong, divided by the
    /// actual time.
    package var timeAfterTenth: Double?

    package init(name: String, mode: String, objects: Int64, storeBytes: Int64, memoryLimit: Int64) {
        self.name = name
        self.mode = mode
        self.objects = objects
        self.storeBytes = storeBytes
        self.memoryLimit = memoryLimit
    }

    /// Returns the median of each figure that varies from round to round, and the highest peak.
    ///
    /// There is at least one round; one without figures stands for all of them.
    package static func summary(of rounds: [ShapeResult]) -> ShapeResult {
        if let without = rounds.first(where: { $0.failure != nil || $0.refusal != nil }) { return without }
        func median(_ figure: (ShapeResult) -> Double?) -> Double? { Spread(rounds.compactMap(figure))?.median }
        var summary = rounds[0]
        summary.seconds = median { $0.seconds } ?? 0
        summary.peakBytes = rounds.map(\.peakBytes).max() ?? 0
        summary.typicalPeakBytes = Int64(median { Double($0.peakBytes) } ?? 0)
        summary.verificationSeconds = median { $0.verificationSeconds } ?? 0
        summary.otherSeconds = median { $0.otherSeconds } ?? 0
        summary.readBytes = median { $0.readBytes.map { Double($0) } }.map { Int64($0) }
        summary.writtenBytes = median { $0.writtenBytes.map { Double($0) } }.map { Int64($0) }
        func median(_ estimates: KeyPath<ShapeResult, Estimates>) -> Estimates {
            Estimates(
                seconds: median { $0[keyPath: estimates].seconds },
                diskBytes: median { $0[keyPath: estimates].diskBytes })
        }
        (summary.said, summary.came) = (median(\.said), median(\.came))
        summary.timeAfterTenth = median { $0.timeAfterTenth }
        return summary
    }
}

/// A figure of every shape, with its limits.
package enum ShapeColumn: CaseIterable, Sendable {
    case peak, growth, verification, speed, read, written, time, timeLeft, disk

    package var title: String {
        switch self {
        case .peak: "peak"
        case .growth: "growth from a tenth"
        case .verification: "verification / rest"
        case .speed: "objects/s"
        case .read: "read / store"
        case .written: "written / store"
        case .time: "estimated / real time"
        case .timeLeft: "estimated after a tenth / real time"
        case .disk: "estimated / real disk space"
        }
    }

    /// Nil where the shape does not have the figure.
    package func value(of result: ShapeResult) -> Double? {
        guard result.failure == nil, result.refusal == nil || self == .peak else { return nil }
        switch self {
        case .peak: return Double(result.peakBytes)
        case .growth: return result.typicalPeakBytesOfTenth.map { Double(result.typicalPeakBytes - $0) }
        case .verification:
            return result.otherSeconds > 0 && result.verificationSeconds > 0
                ? result.verificationSeconds / result.otherSeconds : nil
        case .speed: return result.seconds > 0 ? Double(result.objects) / result.seconds : nil
        case .read: return result.readBytes.map { Double($0) / Double(max(1, result.storeBytes)) }
        case .written: return result.writtenBytes.map { Double($0) / Double(max(1, result.storeBytes)) }
        case .time: return Self.factor(result.said.seconds, result.came.seconds, atLeast: 1)
        case .timeLeft: return result.timeAfterTenth
        case .disk: return Self.factor(result.said.diskBytes, result.came.diskBytes, atLeast: 8 * 1024 * 1024)
        }
    }

    /// Small figures count as the given one: nobody waits for them, and they vary most.
    private static func factor(_ said: Double?, _ came: Double?, atLeast least: Double) -> Double? {
        guard let said, let came else { return nil }
        return max(said, least) / max(came, least)
    }

    /// Whether a figure says something: short runs consist of fixed costs.
    package func isJudged(_ result: ShapeResult) -> Bool {
        switch self {
        case .verification: result.verificationSeconds + result.otherSeconds >= 1
        case .speed: result.seconds >= 1 && result.objects >= 1_000
        case .timeLeft: result.seconds >= 1
        case .read, .written: result.storeBytes >= 4 << 20
        default: true
        }
    }

    /// A number that is higher for a worse figure, in units of the column's limit where it has one: above 1, the limit
    /// is missed.
    package func badness(of result: ShapeResult) -> Double? {
        guard isJudged(result), let value = value(of: result) else { return nil }
        switch self {
        case .peak: return value / Double(result.memoryLimit)
        case .growth: return value / Double(1 << 20)
        case .verification: return value / 0.6
        case .speed: return 1 / value
        case .read, .written: return value
        case .time, .timeLeft, .disk: return max(value, 1 / value) / 2
        }
    }

    /// Whether the column has a limit.
    package var hasLimit: Bool {
        switch self {
        case .speed, .read, .written: false
        default: true
        }
    }

    /// The limit on the median over all shapes, in ``value(of:)``'s unit.
    package var medianLimit: Double? { self == .verification ? 0.4 : nil }

    package func misses(_ result: ShapeResult) -> Bool { hasLimit && (badness(of: result) ?? 0) > 1 }

    package func text(_ result: ShapeResult) -> String {
        guard let value = value(of: result) else { return "–" }
        switch self {
        case .time: return Self.pair(result.said.seconds, result.came.seconds) { Figure.time($0) }
        case .disk: return Self.pair(result.said.diskBytes, result.came.diskBytes) { Figure.size($0) }
        default: return text(value)
        }
    }

    private static func pair(_ said: Double?, _ came: Double?, _ text: (Double) -> String) -> String {
        "\(said.map(text) ?? "–") / \(came.map(text) ?? "–")"
    }

    /// Returns a value of the column, such as a median, as text.
    package func text(_ value: Double) -> String {
        switch self {
        case .peak: Figure.size(value)
        case .growth: Figure.size(max(0, value))
        case .speed: Figure.grouped(Int(value))
        case .read, .written: Figure.decimal(value, digits: 1)
        case .verification, .time, .timeLeft, .disk: Figure.decimal(value, digits: 2)
        }
    }
}
