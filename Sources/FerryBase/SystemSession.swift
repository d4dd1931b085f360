internal import CSystem

/// The time since the machine was started: what was written in it is there even if it was never synced.
package enum SystemSession {
    /// What no other session of any machine has; nil where the system does not tell.
    package static var id: String? {
        var text = [CChar](repeating: 0, count: 64)
        guard ferry_session(&text, text.count) == 0 else { return nil }
        let id = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return id.isEmpty ? nil : id
    }
}
