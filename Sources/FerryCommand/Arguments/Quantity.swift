internal import FerryBase

enum Quantity {
    /// A whole number; underscores may group its digits.
    static func count(_ text: String) -> Int64? {
        guard let first = text.first, first != "_", text.last != "_" else { return nil }
        return Int64(text.filter { $0 != "_" })
    }

    private static let sizes: [String: Int64] = [
        "": 1, "B": 1, "kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "KiB": 1 << 10, "MiB": 1 << 20,
        "GiB": 1 << 30,
    ]
    private static let times: [String: Int64] = [
        "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "min": 60_000_000_000, "h": 3_600_000_000_000,
        "d": 86_400_000_000_000,
    ]

    static func bytes(_ text: String) -> Int64? { scaled(text, by: sizes) }
    static func nanoseconds(_ text: String) -> Int64? { scaled(text, by: times) }

    private static func scaled(_ text: String, by units: [String: Int64]) -> Int64? {
        let digits = text.prefix { $0.isNumber || $0 == "_" || $0 == "." }
        guard let unit = units[String(text.dropFirst(digits.count))] else { return nil }
        if let whole = count(String(digits)) {
            let (product, overflow) = whole.multipliedReportingOverflow(by: unit)
            return overflow || product < 0 ? nil : product
        }
        guard let number = Double(digits), number >= 0, number * Double(unit) < 0x1p62 else { return nil }
        return Int64(number * Double(unit))
    }

    /// A number of rows; `~` marks an estimate.
    static func rowsText(_ rows: Int64?, isEstimated: Bool) -> String {
        rows.map { (isEstimated ? "~" : "") + $0.grouped } ?? "?"
    }

    /// The whole number nearest to a rate or a time, which may come from a file; 0 for NaN.
    static func whole(_ number: Double) -> Int64 {
        number.isNaN ? 0 : number >= 0x1p63 ? .max : number < -0x1p63 ? .min : Int64(number)
    }

    static func durationText(_ time: Duration) -> String { durationText(seconds: time.inSeconds) }

    static func durationText(seconds: Double) -> String {
        if seconds < 1 { return "\(whole((seconds * 1_000).rounded())) ms" }
        if seconds < 120 { return "\(decimal(seconds, places: 1)) s" }
        let whole = whole(seconds)
        if whole < 7_200 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3_600) h \(whole % 3_600 / 60) min"
    }

    /// A number with a fixed number of decimal places, without Foundation's formatting.
    static func decimal(_ value: Double, places: Int) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = (value.magnitude * scale).rounded()
        guard scaled < 0x1p62 else { return String(value) }
        let sign = value < 0 && scaled > 0 ? "-" : ""
        let whole = Int64(scaled)
        guard places > 0 else { return sign + String(whole) }
        let fraction = String(whole % Int64(scale))
        return "\(sign)\(whole / Int64(scale)).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
    }
}
