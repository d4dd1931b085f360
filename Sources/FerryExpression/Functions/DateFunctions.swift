internal import FerryBase
internal import Foundation

/// Dates to text and back, by Unicode's patterns (`yyyy-MM-dd`) or ISO 8601 (`iso8601`); nil gives nil.
///
/// Without a time zone, UTC; always English, so that the result is equal on every machine.
extension ScalarFunction {
    static let dates: [ScalarFunction] = [
        ScalarFunction("ferry_date", title: "date:format:", arguments: 3) { arguments, result throws(FerryError) in
            let title = "date:format:"
            guard let text = try arguments[0].string(title), let pattern = try arguments[1].string(title),
                let zone = try arguments[2].string(title)
            else { return }
            let seconds: Double?
            if pattern == DatePattern.iso8601 {
                seconds = ISODate.seconds(text)
            } else {
                seconds = try result.formatters.formatter(pattern, zone).date(from: text)?
                    .timeIntervalSinceReferenceDate
            }
            guard let seconds else { throw .row(title, "the text does not match the date format") }
            result.set(seconds)
        },
        ScalarFunction("ferry_date_text", title: "text:format:", arguments: 3) {
            arguments, result throws(FerryError) in
            let title = "text:format:"
            guard let date = try arguments[0].number(title), let pattern = try arguments[1].string(title),
                let zone = try arguments[2].string(title)
            else { return }
            // The calendar has no dates beyond a hundred thousand years.
            guard Swift.abs(date.real) < 3e12 else { throw .row(title, "the date is out of range") }
            let formatter = try result.formatters.formatter(
                pattern == DatePattern.iso8601 ? DatePattern.written : pattern, zone)
            result.set(text: formatter.string(from: Date(timeIntervalSinceReferenceDate: date.real)).utf8)
        },
        ofNumber("ferry_date_since_1970", "dateSince1970:") { $0 - 978_307_200 },
    ]
}

enum DatePattern {
    static let iso8601 = "iso8601"
    static let written = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"

    /// Throws `.badExpression` for a constant that matches no text on any machine.
    static func check(_ pattern: Expression, _ zone: Expression?, _ expression: Expression) throws(FerryError) {
        if case .constant(.string(let text)) = pattern {
            guard text == iso8601 || text.contains(where: { "yMdHhmsSDEQ".contains($0) }) else {
                throw expression.error(
                    "has a pattern without date fields.", remedy: "Write one such as 'yyyy-MM-dd HH:mm', or 'iso8601'.")
            }
        }
        if case .constant(.string(let name))? = zone, TimeZone(identifier: name) == nil {
            throw expression.error(
                "names an unknown time zone.", remedy: "Use one such as 'Europe/Berlin' or 'GMT+0200'.")
        }
    }
}

/// The date formatters of a statement.
struct FormatterCache {
    private var known = RecentValues<(pattern: String, zone: String), DateFormatter>()

    mutating func formatter(_ pattern: String, _ zone: String) throws(FerryError) -> DateFormatter {
        if let formatter = known.first(where: { $0.pattern == pattern && $0.zone == zone }) { return formatter }
        guard let timeZone = TimeZone(identifier: zone) else {
            throw .row("date:format:zone:", "the time zone is unknown")
        }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.calendar = Calendar(identifier: .gregorian)
        formatter.timeZone = timeZone
        formatter.isLenient = false
        formatter.dateFormat = pattern
        return known.keep(formatter, for: (pattern, zone))
    }
}
