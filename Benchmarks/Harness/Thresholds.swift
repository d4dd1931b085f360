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
        scales[Self.key(scale)]?[benchmark]?[measure]
    }

    /// Sizes and allocations are those of a system and its libraries: each has its own.
    private static func key(_ scale: Scale) -> String {
        #if os(Linux)
            scale.rawValue
        #else
            scale.rawValue + " elsewhere"
        #endif
    }

    /// Takes what was measured as what holds, with room for the noise of its kind.
    package mutating func record(_ result: CaseResult, at scale: Scale) {
        var limits: [String: Double] = [:]
        for measure in result.measures where measure.gate.looks(at: scale) {
            limits[measure.name] = Self.limit(for: measure, at: scale)
        }
        scales[Self.key(scale), default: [:]][result.name] = limits
    }

    /// Times vary with what else the machine does, processor time less so; sizes hardly; counts not at all.
    ///
    /// The small scale runs with every check, on machines that do other things as well. The full scale is for a quiet
    /// machine.
    private static func limit(for measure: CaseResult.MeasureResult, at scale: Scale) -> Double {
        let value = measure.value.median
        let room: Double =
            switch (measure.unit, scale) {
            case (.ratio, _): 1.25
            case (.workRatio, .small): 1.4
            case (.workRatio, .full): 1.2
            case (.seconds, _): 2
            // Buffers that several threads hold at once, and what their stacks touch, differ from machine to machine.
            case (.bytes, .small): 1.25
            case (.bytes, .full), (.sizeRatio, _): 1.1
            case (.count, _): 1.02
            }
        let limit = measure.better == .higher ? value / room : value * room
        // Growth that is nearly nothing must not become a gate on single pages.
        return measure.unit == .bytes ? (limit + 512 * 1024).rounded() : rounded(limit)
    }

    /// Three digits, so that the file says no more than is known.
    private static func rounded(_ value: Double) -> Double { Double(String(format: "%.3g", value)) ?? value }
}
