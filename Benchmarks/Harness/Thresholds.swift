package import FerryBase
internal import Foundation

/// What holds today: the worst value that a gate lets through, by scale, case and measure.
package struct Thresholds: Sendable, Codable, Equatable {
    package enum Scale: String, Sendable, CaseIterable { case small, full }

    private var scales: [String: [String: [String: Double]]]

    package init() { scales = [:] }

    package init(from decoder: any Decoder) throws {
        scales = try decoder.singleValueContainer().decode([String: [String: [String: Double]]].self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(scales)
    }

    /// - Throws: ``FerryError`` when the file cannot be read or is no thresholds file.
    package static func read(_ path: String, files: FileLayer) throws -> Thresholds {
        guard try files.exists(path) else { return Thresholds() }
        return try JSONDecoder().decode(Thresholds.self, from: Data(files.read(path)))
    }

    package func write(to path: String, files: FileLayer) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try files.replace(path, with: [UInt8](encoder.encode(self)) + [UInt8(ascii: "\n")])
    }

    package func limit(of measure: String, in benchmark: String, at scale: Scale) -> Double? {
        scales[scale.rawValue]?[benchmark]?[measure]
    }

    /// Takes what was measured as what holds, with room for the noise of its kind.
    package mutating func record(_ result: CaseResult, at scale: Scale) {
        var limits: [String: Double] = [:]
        for measure in result.measures where measure.isGate {
            limits[measure.name] = Self.limit(for: measure)
        }
        scales[scale.rawValue, default: [:]][result.name] = limits
    }

    /// Ratios of times vary with what else the machine does; sizes hardly; counts not at all.
    private static func limit(for measure: CaseResult.MeasureResult) -> Double {
        let value = measure.value.median
        let room: Double =
            switch measure.unit {
            case .ratio: 1.4
            case .seconds: 3
            case .bytes, .sizeRatio: 1.1
            case .count: 1.02
            }
        let limit = measure.better == .higher ? value / room : value * room
        // Growth that is nearly nothing must not become a gate on single pages.
        return measure.unit == .bytes ? (limit + 512 * 1024).rounded() : rounded(limit)
    }

    /// Three digits, so that the file says no more than is known.
    private static func rounded(_ value: Double) -> Double { Double(String(format: "%.3g", value)) ?? value }
}
