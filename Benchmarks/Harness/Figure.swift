internal import Foundation

/// Numbers in a form for readers.
package enum Figure {
    package static func decimal(_ number: Double, digits: Int) -> String { String(format: "%.\(digits)f", number) }

    package static func grouped(_ number: Int) -> String {
        var text = String(number.magnitude)
        var place = text.count - 3
        while place > 0 {
            text.insert(",", at: text.index(text.startIndex, offsetBy: place))
            place -= 3
        }
        return number < 0 ? "-" + text : text
    }

    package static func size(_ bytes: Double) -> String {
        bytes < 1024 * 1024
            ? "\(decimal(bytes / 1024, digits: 0)) KiB" : "\(decimal(bytes / 1024 / 1024, digits: 1)) MiB"
    }

    package static func time(_ seconds: Double) -> String {
        seconds < 1 ? "\(decimal(seconds * 1000, digits: 1)) ms" : "\(decimal(seconds, digits: 2)) s"
    }

    package static func value(_ value: Double, _ unit: Measure.Unit) -> String {
        switch unit {
        case .ratio, .workRatio, .sizeRatio: decimal(value, digits: 2)
        case .bytes: size(value)
        case .seconds: time(value)
        case .count: value < 1000 && value != value.rounded() ? decimal(value, digits: 2) : grouped(Int(value))
        }
    }
}

/// Logarithms for axes.
enum Logarithm {
    static func ofTwo(_ number: Double) -> Double { log2(number) }
}
