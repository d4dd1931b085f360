internal import FerryBase

/// Warnings for programs, beside the texts of them.
enum WarningDetails {
    static func json(_ warnings: [FerryWarning]) -> JSON { .array(warnings.map(json)) }

    static func json(_ warning: FerryWarning) -> JSON {
        let subject = [
            ("entity", warning.subject.entity), ("property", warning.subject.property),
            ("entityMapping", warning.subject.entityMapping), ("object", warning.subject.object),
            ("path", warning.subject.path),
        ]
        return .object([
            ("code", .string(warning.code.rawValue)), ("message", .string(warning.message)),
            ("subject", .object(subject.filter { $0.1 != nil }.map { ($0.0, .string($0.1)) })),
        ])
    }
}
