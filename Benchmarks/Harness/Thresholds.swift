package import FerryBase
internal import Foundation

/// The recorded limits: the worst value that a gate accepts, by scale, case and measure.
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

    /// - Throws: ``FerryError`` when the file is missing or is not a thresholds file.
    package static func read(_ path: String, files: FileLayer) throws -> Thresholds {
        try JSONDecoder().decode(Thresholds.self, from: Data(files.read(path)))
    }

    package func write(to path: String, files: FileLayer) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try files.replace(path, with: [UInt8](encoder.encode(self)) + [UInt8(ascii: "\n")])
    }

    /// Whether any threshold of a case is recorded.
    package func hasLimits(of benchmark: String, at scale: Scale) -> Bool {
        scales[Self.key(scale)]?[benchmark] != nil
    }

    package func limit(of measure: String, in benchmark: String, at scale: Scale) -> Double? {
        scales[Self.key(scale)]?[benchmark]?[measure]
    }

    /// Sizes and allocations depend on the system and its libraries: each system has its own thresholds.
    private static func key(_ scale: Scale) -> String {
        #if os(Linux)
            scale.rawValue
        #else
            scale.rawValue + " elsewhere"
        #endif
    }

    /// Records a result as the new limits, with room for the noise of each kind of measure.
    package mutating func record(_ result: CaseResult, at scale: Scale) {
        var limits: [String: Double] = [:]
        for measure in result.measures where measure.gate.looks(at: scale) {
            limits[measure.name] = Self.limit(for: measure, at: scale)
        }
        scales[Self.key(scale), default: [:]][result.name] = limits
    }

    /// Returns a measure's limit.
    ///
    /// Times vary with other work on the machine, processor time less, sizes hardly, counts not at all.
    ///
    /// The small scale runs with every check, on machines with other work. The full scale is for an idle machine.
    private static func limit(for measure: CaseResult.MeasureResult, at scale: Scale) -> Double {
        let value = measure.value.median
        let room: Double =
            switch (measure.unit, scale) {
            case (.ratio, _): 1.25
            case (.workRatio, .small): 1.4
            case (.workRatio, .full): 1.2
            case (.seconds, _): 2
            // Buffers that several threads hold at once, and the touched pages of their stacks, differ from machine to
            // machine.
            case (.bytes, .small): 1.25
            case (.bytes, .full), (.sizeRatio, _): 1.1
            case (.count, _): 1.02
            }
        let limit = measure.better == .higher ? value / room : value * room
        // The additional 512 KiB keep a growth of nearly zero from becoming a gate on single pages.
        return measure.unit == .bytes ? (limit + 512 * 1024).rounded() : rounded(limit)
    }

    /// Keeps three digits: the measured precision.
    private static func rounded(_ value: Double) -> Double { Double(String(format: "%.3g", value)) ?? value }
}
